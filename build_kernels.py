"""How the kernels are compiled: all at once, with what they have in common apart.

setuptools' own command translates and compiles one extension after the other, and each
would hold the same twenty thousand lines of C for typed memoryviews.
"""

import os
import shutil
import sysconfig

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

# One wheel serves all later versions of Python: the kernels keep to its stable ABI,
# which costs their loops nothing. Free-threaded Pythons have none yet.
_STABLE_SINCE = (
    None if sysconfig.get_config_var("Py_GIL_DISABLED") else ("cp311", "0x030B0000")
)

# -ffp-contract=off: the same bits whether or not the processor has fused multiply-add,
# so a seed gives the same chain on every machine.
# -g0: without what a debugger needs, gcc takes a quarter less time.
_FLAGS = {
    "unix": ["-O3", "-g0", "-ffp-contract=off"],
    "msvc": ["/clang:-O3", "/clang:-ffp-contract=off"],
}
# What the kernels share has no loop to make fast.
_SHARED_FLAGS = {"unix": ["-O1", "-g0"], "msvc": ["/O1"]}


class StableWheel(bdist_wheel):
    """Name the wheel after the oldest Python it runs with."""

    def finalize_options(self):
        """Settle the wheel's tag."""
        if _STABLE_SINCE:
            self.py_limited_api = _STABLE_SINCE[0]
        super().finalize_options()


class BuildKernels(build_ext):
    """Translate the kernels to C in processes, then compile the C in threads."""

    def build_extensions(self):
        """Build all extensions."""
        from Cython.Build import cythonize

        if not self.parallel:
            self.parallel = min(os.cpu_count() or 1, len(self.extensions))
        # In processes of their own, for threads share state of Cython. The C goes to
        # the build folder: nothing generated lands in the tree.
        translated = cythonize(
            self.extensions,
            nthreads=self.parallel,
            force=self.force,
            build_dir=self.build_temp,
            shared_utility_qualified_name="skbidag._core._cyutility",
        )
        for extension, in_c in zip(self.extensions, translated, strict=True):
            extension.sources = in_c.sources
            shared = extension.name.endswith("._cyutility")
            flags = _SHARED_FLAGS if shared else _FLAGS
            extension.extra_compile_args = flags.get(self.compiler.compiler_type, [])
            if _STABLE_SINCE:
                extension.py_limited_api = True
                extension.define_macros = [("Py_LIMITED_API", _STABLE_SINCE[1])]
        if self.compiler.compiler_type == "msvc":
            self._take_clang()
        # The longest first, so that no core is left with a long one at the end.
        self.extensions.sort(
            key=lambda extension: os.path.getsize(extension.sources[0]), reverse=True
        )
        super().build_extensions()

    def _take_clang(self):
        """Compile with clang's twin of Microsoft's compiler, which has vector types."""
        clang = shutil.which("clang-cl")
        if clang is None:
            raise SystemExit(
                "building skbidag on Windows needs clang-cl on the path: install LLVM, "
                "or the Clang component of Visual Studio"
            )
        if not self.compiler.initialized:
            self.compiler.initialize(self.plat_name)
        self.compiler.cc = clang  # the linker stays Microsoft's
