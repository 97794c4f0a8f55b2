"""The same bits on other processors: the kernels' loops in C.

    pip install ziglang                    # clang for all of them, in a wheel
    apt-get install qemu-user-static       # runs programs of other processors
    python benchmarks/processors.py

The loops of ``_core/_vector.pxd`` are compiled for several processors and systems, and
run where that is possible here, by emulation if need be: logarithms, exponentials and
sums over a few thousand numbers, printed to the last bit. For macOS and Windows they
are only compiled. Exit code 1 if something differs or does not compile.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import Table

KERNELS = Path(__file__).parents[1] / "skbidag" / "_core"
FLAGS = ["-O3", "-ffp-contract=off"]
RUN = {
    "x86_64-linux-musl": [],
    "aarch64-linux-musl": ["qemu-aarch64-static"],
    "riscv64-linux-musl": ["qemu-riscv64-static"],
}
COMPILED_ONLY = ["aarch64-macos", "x86_64-macos", "x86_64-windows-gnu"]

PROGRAM = """
#include <stdio.h>
#include <stddef.h>
typedef ptrdiff_t Py_ssize_t;
%s
enum { SIZE = 4096 };
static double x[SIZE], y[SIZE], z[SIZE], place[SIZE];

static void print_all(const char *name, const double *values)
{
    uint64_t hash = 1469598103934665603ULL;
    for (int i = 0; i < SIZE; i++) {
        uint64_t bits;
        memcpy(&bits, values + i, 8);
        hash = (hash ^ bits) * 1099511628211ULL;
    }
    printf("%%s %%016llx\\n", name, (unsigned long long)hash);
}

int main(void)
{
    uint64_t state = 88172645463325252ULL;
    for (int i = 0; i < SIZE; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        x[i] = (double)(state >> 11) * 0x1p-53 * 1400 - 700;
        place[i] = (double)(state %% 37);
    }
    skb_exp_array(x, y, SIZE);
    print_all("exp", y);
    skb_log_array(y, z, SIZE);
    print_all("log", z);
    skb_log_add_rows(z, x, SIZE);
    print_all("log add", z);
    skb_outsider_scores(z, x, y, place, x, 3.0, 0.1, 0.5, 1.5, 0.7, SIZE);
    print_all("scores", z);
    printf("ratios %%a\\n", skb_ratios(z, x, 3.0, SIZE));
    print_all("ratios", z);
    double beyond, at = skb_sums_at(x, place, NULL, 5.0, &beyond, SIZE);
    printf("sums %%a %%a %%a\\n", at, beyond, skb_sum_from(x, place, NULL, 7.0, SIZE));
    printf("log sum %%a\\n", skb_log_sum_exp_from(x, place, NULL, 7.0, SIZE));
    return 0;
}
"""


def loops_in_c():
    """The C that the kernels share, as it stands in their sources."""
    text = (KERNELS / "_vector.pxd").read_text()
    (code,) = re.findall(r'cdef extern from \*:\n    """\n(.*?)    """', text, re.S)
    return code.replace("\\\\\n", "\\\n")


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    zig = [sys.executable, "-m", "ziglang", "cc"]
    if subprocess.run([*zig, "--version"], capture_output=True).returncode:
        sys.exit("this needs clang for other processors: pip install ziglang")
    table = Table("target:>20 compiler:>8 result:>40")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "loops.c")
        source.write_text(PROGRAM % loops_in_c())

        def build(compiler, name):
            program = Path(folder, name)
            command = [*compiler, *FLAGS, str(source), "-o", str(program), "-lm"]
            return program if not subprocess.run(command).returncode else None

        expected = subprocess.check_output(build(["gcc"], "here"))
        table.add(
            {
                "target": "this machine",
                "compiler": "gcc",
                "result": "what the others are compared with",
            }
        )
        failed = False
        for target, emulator in RUN.items():
            program = build([*zig, "-target", target], target)
            if program is None:
                result, failed = "does not compile", True
            elif emulator and not shutil.which(emulator[0]):
                result = f"compiles; {emulator[0]} is not installed"
            elif subprocess.check_output([*emulator, program]) == expected:
                result = "the same bits"
            else:
                result, failed = "differs", True
            table.add({"target": target, "compiler": "clang", "result": result})
        for target in COMPILED_ONLY:
            compiles = build([*zig, "-target", target], target) is not None
            failed |= not compiles
            table.add(
                {
                    "target": target,
                    "compiler": "clang",
                    "result": "compiles" if compiles else "does not compile",
                }
            )
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
