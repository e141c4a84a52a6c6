SELECT name, start_time, duration_ms, status_code,
    json_extract(attributes, '$."gen_ai.provider.name"') AS provider,
    json_extract(attributes, '$."gen_ai.request.model"') AS model,
    json_extract(attributes, '$."gen_ai.usage.input_tokens"') AS input,
    json_extract(attributes, '$."gen_ai.usage.output_tokens"') AS output,
    json_extract(attributes, '$."co.cost_usd"') AS cost,
    json_extract(attributes, '$."co.approval.answer"') AS answer
    FROM spans WHERE start_time >= ?1
    AND (name LIKE 'chat %' OR name LIKE 'execute_tool %' OR name LIKE 'wait_for_approval %')
