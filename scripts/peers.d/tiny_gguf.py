"""Writes a tiny language model of random weights: a llama with a vocabulary of bytes.

It talks nonsense, which is what is wanted: the server around it is real, and a grammar forces calls of tools.
Usage: tiny_gguf.py PATH
"""

import sys

import gguf
import numpy as np

WIDTH, HEADS, FEED_FORWARD, CONTEXT = 64, 2, 128, 65536

TEMPLATE = """{%- if tools %}
<|im_start|>system
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
Call a tool so: <tool_call>
{"name": NAME, "arguments": ARGUMENTS}
</tool_call><|im_end|>
{%- endif %}
{%- for message in messages %}
<|im_start|>{{ message.role }}
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{%- endfor %}
{%- if add_generation_prompt %}
<|im_start|>assistant
{% endif %}"""


# Kinds of tokens in a model file.
NORMAL, UNKNOWN, CONTROL, OWN, BYTE = 1, 2, 3, 4, 6

# How much likelier than any letter (as a logit) a token is, whatever came before: texts are some twenty letters long,
# and where tools are offered a call begins soon.
ENDS, CALLS, LETTERS, NEVER = 4.3, 4.7, 1.0, -30.0


def vocabulary():
    """Tokens as (text, score, kind, logit)."""
    tokens = [(b"<unk>", 0.0, UNKNOWN, NEVER), (b"<s>", 0.0, CONTROL, NEVER), (b"</s>", 0.0, CONTROL, ENDS)]
    tokens += [(b'<tool_call>\n{"name": "', 0.0, OWN, CALLS)]
    tokens += [(f"<0x{value:02X}>".encode(), 0.0, BYTE, NEVER) for value in range(256)]
    tokens += [(bytes([value]), -float(value), NORMAL, LETTERS) for value in range(33, 127)]
    tokens += [("▁".encode(), -1.0, NORMAL, LETTERS)]
    return tokens


def main(path):
    writer = gguf.GGUFWriter(path, "llama")
    tokens = vocabulary()
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _, _, _ in tokens])
    writer.add_token_scores([score for _, score, _, _ in tokens])
    writer.add_token_types([kind for _, _, kind, _ in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    random = np.random.default_rng(7)

    def noise(*shape):
        return (random.standard_normal(shape) * 0.02).astype(np.float32)

    def tensor(name, *shape):
        writer.add_tensor(name, noise(*shape))

    # The first number of every state is the same, so that what stands there in the output is added to each logit.
    embeddings, output = noise(len(tokens), WIDTH), noise(len(tokens), WIDTH)
    embeddings[:, 0] = 1.0
    output[:, 0] = np.array([logit for _, _, _, logit in tokens]) / np.sqrt(WIDTH)
    writer.add_tensor("token_embd.weight", embeddings)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, dtype=np.float32))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(WIDTH, dtype=np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensor(f"blk.0.{name}.weight", WIDTH, WIDTH)
    tensor("blk.0.ffn_gate.weight", FEED_FORWARD, WIDTH)
    tensor("blk.0.ffn_up.weight", FEED_FORWARD, WIDTH)
    tensor("blk.0.ffn_down.weight", WIDTH, FEED_FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1])
