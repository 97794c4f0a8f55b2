"""How the kernels are compiled: all at once, with what they have in common apart.

setuptools' own command translates and compiles one extension after the other, and each
would hold the same twenty thousand lines of C for typed memoryviews.
"""

import os

from setuptools.command.build_ext import build_ext


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
        # The longest first, so that no core is left with a long one at the end.
        self.extensions.sort(
            key=lambda extension: os.path.getsize(extension.sources[0]), reverse=True
        )
        super().build_extensions()
