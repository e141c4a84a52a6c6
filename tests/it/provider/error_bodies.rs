//! The errors of each provider, and their classes: `wire.md` §0–§3 as a table.
//!
//! Bodies are shortened; their text is the providers' own. A row that no rule matches is the first place to look for a
//! misclassified error.

use std::time::Duration;

use co::provider::classify::{classify_reply, classify_value};
use co::provider::{ErrorClass, ProviderError, Recovery, RetryHeaders};

use ErrorClass::{
    Auth, BadRequest, Billing, ContextOverflow, Filtered, Network, NotFound, Overloaded, Permission, Quota,
    RateLimited, Server,
};

/// Provider, status (0: an error within a 200), body, class.
type Row = (&'static str, u16, &'static str, ErrorClass);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Too long: each host has words of its own.
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#, ContextOverflow),
    ("anthropic, Cloudflare's page", 413, "<html>Request Entity Too Large</html>", ContextOverflow),
    ("openai", 400, r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#, ContextOverflow),
    ("openai, more than a minute's tokens", 429, r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.","type":"tokens","code":"rate_limit_exceeded"}}"#, ContextOverflow),
    ("deepseek", 400, r#"{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens","type":"invalid_request_error","code":"invalid_request_error"}}"#, ContextOverflow),
    ("openrouter", 400, r#"{"error":{"message":"This endpoint's maximum context length is 32768 tokens.","code":400}}"#, ContextOverflow),
    ("openrouter, in a stream", 0, r#"{"error":{"message":"This endpoint's maximum context length is 32768 tokens.","code":400}}"#, ContextOverflow),
    ("vertex", 400, r#"{"error":{"code":400,"message":"The input token count (1300000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#, ContextOverflow),
    ("ollama.com", 400, r#"{"error":"prompt too long; exceeded max context length by 4000 tokens"}"#, ContextOverflow),
    ("cohere", 400, r#"{"message":"too many tokens: size limit exceeded by 12 tokens."}"#, ContextOverflow),
    ("perplexity", 400, r#"{"error":{"message":"The total length of all messages is too long","type":"bad_request","code":400}}"#, ContextOverflow),
    ("xai", 400, r#"{"code":"invalid-argument","error":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}"#, ContextOverflow),
    ("groq", 400, r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","code":"context_length_exceeded"}}"#, ContextOverflow),
    ("groq, more than a minute's tokens", 413, r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000","type":"tokens","code":"rate_limit_exceeded"}}"#, ContextOverflow),
    ("llama.cpp", 400, r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#, ContextOverflow),
    ("llama.cpp, older", 500, r#"{"error":{"code":500,"message":"the request exceeds the available context size","type":"server_error"}}"#, ContextOverflow),
    ("lm studio, in a stream", 0, r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}"#, ContextOverflow),
    ("mistral", 400, r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}"#, ContextOverflow),
    ("minimax", 400, r#"{"error":{"message":"invalid params, context window exceeds limit"}}"#, ContextOverflow),
    ("kimi", 400, r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}"#, ContextOverflow),
    ("cerebras", 400, "", ContextOverflow),
    ("cerebras", 413, "", ContextOverflow),
    // Too fast.
    ("anthropic", 429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}"#, RateLimited),
    ("openai", 429, r#"{"error":{"message":"Rate limit reached for gpt-5. Please try again in 1.2s.","type":"requests","code":"rate_limit_exceeded"}}"#, RateLimited),
    ("azure", 429, r#"{"error":{"code":"RateLimitReached","message":"Your requests have exceeded the rate limit. Please retry after 2 seconds."}}"#, RateLimited),
    ("mistral", 429, r#"{"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","code":"1300"}"#, RateLimited),
    ("openrouter, in a stream", 0, r#"{"error":{"message":"Rate limit exceeded","code":429}}"#, RateLimited),
    ("bedrock behind a proxy, in a stream", 0, r#"{"error":{"message":"Too many tokens, please wait before trying again.","type":"rate_limit_error"}}"#, RateLimited),
    ("gemini", 429, r#"{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 48.9s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48s"}]}}"#, RateLimited),
    // Used up: no wait helps.
    ("openai", 429, r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#, Quota),
    ("openai, in a stream", 0, r#"{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota"}}"#, Quota),
    ("openai", 429, r#"{"error":{"message":"No credit left.","type":"billing","code":"credit_balance_exhausted"}}"#, Quota),
    ("anthropic's spend limit", 429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"spend limit","details":{"error_code":"enforced_spend_limit_reached"}}}"#, Quota),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#, Billing),
    ("deepseek", 402, r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#, Billing),
    ("openrouter", 402, r#"{"error":{"message":"This request requires more credits","code":402}}"#, Billing),
    ("openrouter, in a stream", 0, r#"{"error":{"message":"This request requires more credits","code":402}}"#, Billing),
    ("xai", 403, r#"{"code":"permission-denied","error":"Your newly created team doesn't have any credits yet."}"#, Billing),
    ("xai", 429, r#"{"code":"resource-exhausted","error":"Your team has either used all available credits or reached its monthly spending limit."}"#, Billing),
    ("z.ai", 429, r#"{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}"#, Billing),
    ("kimi", 429, r#"{"error":{"message":"Your account is suspended, please check your plan","type":"exceeded_current_quota_error"}}"#, Quota),
    // Busy.
    ("anthropic", 529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
    ("anthropic, in a stream", 0, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
    ("openai, in a stream", 0, r#"{"type":"error","error":{"code":"server_is_overloaded","message":"busy"}}"#, Overloaded),
    ("openai", 503, r#"{"error":{"message":"Slow down","type":"server_error","code":"slow_down"}}"#, Overloaded),
    ("gemini", 503, r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#, Overloaded),
    ("kimi", 429, r#"{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}"#, Overloaded),
    ("mistral", 429, r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","code":"3505"}"#, Overloaded),
    ("openrouter: nobody serves it", 503, r#"{"error":{"message":"No instances available","code":503}}"#, Overloaded),
    ("llama.cpp loads its model", 503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, Overloaded),
    // Broken.
    ("anthropic", 500, r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#, Server),
    ("anthropic", 504, r#"{"type":"error","error":{"type":"timeout_error","message":"timed out"}}"#, Server),
    ("anthropic", 409, r#"{"type":"error","error":{"type":"conflict_error","message":"conflict"}}"#, Server),
    ("openrouter: the model is down", 502, r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"provider_name":"X","raw":"oops"}}}"#, Server),
    ("openai, in a stream", 0, r#"{"error":{"message":"The server had an error","type":"server_error"}}"#, Server),
    ("Cloudflare", 524, "<html>A timeout occurred</html>", Server),
    ("a proxy on the way", 407, "<html>Proxy Authentication Required</html>", Network),
    // The key, the account, the names.
    ("anthropic", 401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#, Auth),
    ("openai", 401, r#"{"error":{"message":"Incorrect API key provided: sk-x.","type":"invalid_request_error","code":"invalid_api_key"}}"#, Auth),
    ("mistral", 401, r#"{"detail":"Invalid API Key"}"#, Auth),
    ("deepseek", 401, r#"{"error":{"message":"Authentication Fails","type":"authentication_error","code":"invalid_request_error"}}"#, Auth),
    ("perplexity", 401, r#"{"error":{"message":"Invalid API key","type":"invalid_api_key","code":401}}"#, Auth),
    ("xai", 400, r#"{"code":"invalid-argument","error":"Incorrect API key provided: x. You can obtain an API key from https://console.x.ai."}"#, Auth),
    ("ollama.com", 401, r#"{"error":"unauthorized","signin_url":"https://ollama.com/connect"}"#, Auth),
    ("anthropic", 403, r#"{"type":"error","error":{"type":"permission_error","message":"no access"}}"#, Permission),
    ("openai", 403, r#"{"error":{"message":"Country, region, or territory not supported","code":"unsupported_country_region_territory"}}"#, Permission),
    ("anthropic", 404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}"#, NotFound),
    ("openai", 404, r#"{"error":{"message":"The model `gpt-x` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#, NotFound),
    ("openai's responses", 400, r#"{"error":{"message":"The requested model 'gpt-x' does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#, NotFound),
    ("azure", 404, r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#, NotFound),
    ("ollama", 404, r#"{"error":"model 'x' not found"}"#, NotFound),
    ("a server without the endpoint", 405, r#"{"detail":"Method Not Allowed"}"#, NotFound),
    ("a server without the endpoint", 501, r#"{"error":{"code":501,"message":"not supported","type":"not_supported_error"}}"#, NotFound),
    // Refused for what it says.
    ("azure, within a 200", 0, r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#, Filtered),
    ("openai", 400, r#"{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}"#, Filtered),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#, Filtered),
    ("openrouter's moderation", 403, r#"{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"x"}}}"#, Filtered),
    ("xai", 403, r#"{"code":"permission-denied","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_CSAM"}"#, Filtered),
    ("deepseek", 400, r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}"#, Filtered),
    // The request itself.
    ("openai", 400, r#"{"error":{"message":"Unsupported value: 'temperature'","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#, BadRequest),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"does not support effort level 'xhigh'"}}"#, BadRequest),
    ("groq's spoilt call", 400, r#"{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<x>"}}"#, BadRequest),
    ("groq's spoilt call, in a stream", 0, r#"{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed"}}"#, BadRequest),
    ("fastapi servers", 422, r#"{"detail":[{"loc":["body","messages"],"msg":"field required"}]}"#, BadRequest),
    ("openai's responses", 400, r#"{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input"}}"#, BadRequest),
];

fn read(status: u16, body: &str) -> ProviderError {
    match status {
        0 => classify_value(&serde_json::from_str(body).unwrap()),
        status => classify_reply(status, &RetryHeaders::default(), body.as_bytes()),
    }
}

#[test]
fn every_providers_words_are_understood() {
    let wrong: Vec<String> = ROWS
        .iter()
        .filter_map(|(provider, status, body, expected)| {
            let found = read(*status, body).class;
            (found != *expected).then(|| format!("{provider} {status}: {found:?}, not {expected:?}: {body}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The wait in a body counts where no header gives one, and only on transient failures.
#[test]
fn waits_are_read_from_bodies() {
    let header =
        |millis| RetryHeaders { retry_after: Some(Duration::from_millis(millis)), ..RetryHeaders::default() };
    let find = |words: &str| ROWS.iter().find(|(_, _, body, _)| body.contains(words)).unwrap().2.as_bytes();
    let (google, openai, azure) = (find("retryDelay"), find("1.2s"), find("after 2 seconds"));
    let cases = [
        (google, RetryHeaders::default(), 48_000),
        (openai, RetryHeaders::default(), 1_200),
        (azure, RetryHeaders::default(), 2_000),
        (azure, header(1_000), 1_000),
    ];
    for (body, headers, millis) in cases {
        let error = classify_reply(429, &headers, body);
        let wait = Some(Duration::from_millis(millis));
        assert_eq!((error.retry_after, error.recovery()), (wait, Recovery::Backoff(wait)), "{error}");
    }
    let in_stream =
        r#"{"type":"error","error":{"code":"rate_limit_exceeded","message":"try again in 11.054s"}}"#;
    assert_eq!(read(0, in_stream).retry_after, Some(Duration::from_millis(11_054)));
}

/// A server's advice on repeating wins over the meaning of its status.
#[test]
fn should_retry_wins() {
    let said = |retry| RetryHeaders { should_retry: Some(retry), ..RetryHeaders::default() };
    let body = br#"{"type":"error","error":{"type":"x","message":"y"}}"#;
    assert_eq!(classify_reply(500, &said(false), body).recovery(), Recovery::Abort);
    assert_eq!(classify_reply(403, &said(true), body).recovery(), Recovery::Backoff(None));
}
