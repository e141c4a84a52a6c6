"""Serves a model file with llama.cpp's own server on a free port of loopback.

Prints its address, and serves until its standard input ends: it cannot outlive who started it.
Usage: serve.py PATH
"""

import sys

import xllamacpp


def main(path):
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 65536
    params.n_parallel = 1
    params.n_predict = 3000
    params.warmup = False
    params.use_jinja = True
    params.cpuparams.n_threads = 2
    # The same nonsense each time, and any token may come: the model's own logits say which do.
    params.sampling.seed = 7
    params.sampling.temp = 1.0
    params.sampling.top_k = 0
    params.sampling.top_p = 1.0
    params.sampling.min_p = 0.0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main(sys.argv[1])
