"""Recipes of cases: one line of text, for sim, fuzz, cases and check."""

import mutate
import samples
from options import free_of_nul

FIELDS = (
    "pp dp tp ep stage M bucket align steps seed unused vary tuple dynamic unit wide first "
    "overflow bad clip scale reload schedule optim mode precision reduce comm list"
).split()


# The recipe comes after the words.
COMMANDS = [
    ["sim", "--case"],
    ["sim", "--json", "--case"],
    ["fuzz", "--replay"],
    ["fuzz", "--json", "--replay"],
    ["cases"],
    ["cases"],
    ["check", "--adapter", "{zeroproof} adapter", "--shrink", "0", "--only"],
]


class Kind:
    name = "recipes"

    def __init__(self, made):
        self.recipes = samples.RECIPES + [case["recipe"] for case in made.cases()]

    def recipe(self, dice):
        text = mutate.text(dice, dice.choice(self.recipes))
        if dice.random() < 0.3:
            text += f",{dice.choice(FIELDS)}={mutate.number_text(dice)}"
        if dice.random() < 0.05:
            text += ",list=" + "+".join(["1@0.0"] * dice.choice([511, 512, 513, 5000]))
        return free_of_nul(text)

    def make(self, dice):
        recipe = self.recipe(dice)
        if dice.random() < 0.3:
            lines = [self.recipe(dice).replace("\n", " ").encode() for _ in range(3)] + [b"\xff,\0"]
            return {
                "argv": ["{zeroproof}", "cases"],
                "stdin": b"\n".join(lines),
                "json": "lines",
                "work": True,
            }
        return self.item(dice.choice(COMMANDS), recipe)

    def item(self, words, recipe):
        item = {"argv": ["{zeroproof}", *words, recipe], "work": True}
        if "--json" in words:
            item["json"] = True
        elif words[0] == "cases":
            item["json"] = "lines"
        return item

    def unchanged(self):
        """Each command with the recipes that it starts from: (what, item, exit codes)."""
        for words in COMMANDS:
            for recipe in self.recipes[: len(samples.RECIPES) + 2]:
                yield f"{words[0]} {recipe}", {**self.item(words, recipe), "work": False}, (0,)
