"""Compiles CUDA source to PTX with NVRTC: python ptx.py kernels.cu kernels.ptx"""

import ctypes
import glob
import hashlib
import os
import sys

source, out = sys.argv[1:]
for path in sys.path:
    found = glob.glob(os.path.join(path, "nvidia", "cuda_nvrtc", "lib", "libnvrtc.so*"))
    if found:
        nvrtc = ctypes.CDLL(found[0])
        break
else:
    sys.exit("libnvrtc is not installed")


def check(status, program=None):
    if status == 0:
        return
    if program:
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    sys.exit(f"NVRTC failed: {status}")


text = open(source, "rb").read()
program = ctypes.c_void_p()
check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels.cu", 0, None, None))
options = [b"--gpu-architecture=compute_80", b"--std=c++17"]
check(nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)), program)
size = ctypes.c_size_t()
check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
ptx = ctypes.create_string_buffer(size.value)
check(nvrtc.nvrtcGetPTX(program, ptx))
with open(out, "w") as file:
    file.write(f"// sha256 of kernels.cu: {hashlib.sha256(text).hexdigest()}\n{ptx.value.decode()}")
