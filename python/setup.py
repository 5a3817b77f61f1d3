"""The wheel of the package ming. scripts/make-wheel puts the library and its files in first."""
import os

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class LibraryDistribution(Distribution):
    """Holds a shared library, so it is for one platform,"""

    def has_ext_modules(self):
        return True


class AnyPythonWheel(bdist_wheel):
    """but for any Python, since none of it is compiled for one."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(name="ming",
      version=os.environ["MING_VERSION"],
      description="Compiles quantized neural networks to streaming FPGA accelerators",
      python_requires=">=3.9",
      install_requires=["numpy"],
      packages=["ming"],
      package_data={"ming": ["lib/*", "share/ming/*/*"]},
      distclass=LibraryDistribution,
      cmdclass={"bdist_wheel": AnyPythonWheel})
