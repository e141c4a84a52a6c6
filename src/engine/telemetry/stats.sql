SELECT name, start_time, duration_ms, status_code,
    json_extract(attributes, '$."gen_ai.provider.name"') AS provider,
    json_extract(attributes, '$."gen_ai.request.model"') AS model,
    CAST(json_extract(attributes, '$."gen_ai.usage.input_tokens"') AS INTEGER) AS input,
    CAST(json_extract(attributes, '$."gen_ai.usage.output_tokens"') AS INTEGER) AS output,
    CAST(json_extract(attributes, '$."co.cost_usd"') AS REAL) AS cost,
    json_extract(attributes, '$."co.approval.answer"') AS answer
FROM spans
WHERE start_time >= ?1
    AND (name LIKE 'chat %' OR name LIKE 'execute_tool %' OR name LIKE 'wait_for_approval %')
    AND json_valid(attributes)
