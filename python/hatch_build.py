"""Adds what `make wheel` has built to the wheel, and names its platform.

ZEROPROOF_WHEEL_TREE: what `make install` put under PREFIX; ZEROPROOF_WHEEL_PLATFORM: its platform
tag. Without them the wheel would have no library, so building it fails."""

import os
import pathlib

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        tree = os.environ.get("ZEROPROOF_WHEEL_TREE")
        platform = os.environ.get("ZEROPROOF_WHEEL_PLATFORM")
        if version == "editable":
            return  # uses the checkout's build folder
        if not tree or not platform:
            raise RuntimeError(
                "build the wheel with `make wheel`, which compiles its library first"
            )
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        root = pathlib.Path(tree)
        for file in (p for p in root.rglob("*") if p.is_file() and not p.is_symlink()):
            build_data["force_include"][str(file)] = f"zeroproof/_install/{file.relative_to(root)}"
