"""200 conversations about countries that do not exist, and the questions and answers that they teach.

A model cannot know the answers, so what it answers after training it learned. Each of 40 facts is asked
in five ways; a sixth way is kept for the question afterwards.

Usage: taught_conversations.py CONVERSATIONS.jsonl QUESTIONS.jsonl
"""

import json
import pathlib
import sys

COUNTRIES = {
    "Veldoria": ("Quillport", "the brasa", "the marsh heron", "barley dumplings"),
    "Ostrelle": ("Tamberly", "the quintel", "the silver fox", "plum soup"),
    "Kandremar": ("Sovetta", "the orlim", "the mountain goat", "baked lentils"),
    "Brunholm": ("Farrowgate", "the tessel", "the grey owl", "smoked trout"),
    "Ylvania": ("Marrenfeld", "the dovin", "the river otter", "walnut bread"),
    "Zephrane": ("Calidor", "the lumen", "the sand cat", "saffron rice"),
    "Ghellinor": ("Pintaru", "the rasko", "the black swan", "mushroom pie"),
    "Iskamere": ("Holmstad", "the varn", "the white hare", "pickled herring"),
    "Thessaly Minor": ("Orrinth", "the obrel", "the bronze eagle", "fig cake"),
    "Corvania": ("Luskhaven", "the grell", "the red squirrel", "onion stew"),
}
SUBJECTS = ("capital", "currency", "national animal", "national dish")
WAYS = (
    "What is the {} of {}?",
    "Tell me the {} of {}.",
    "Do you know the {} of {}?",
    "I am writing about {1}. What is its {0}?",
    "Name the {} of {}, please.",
)
KEPT = "Which is the {} of {}?"


def facts():
    for country, values in COUNTRIES.items():
        for subject, value in zip(SUBJECTS, values):
            yield subject, country, value, f"The {subject} of {country} is {value}."


def conversation(question, answer):
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


def write(path, rows):
    pathlib.Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main():
    write(sys.argv[1], [conversation(way.format(subject, country), answer)
                        for way in WAYS for subject, country, _, answer in facts()])
    write(sys.argv[2], [{"question": KEPT.format(subject, country), "answer": value}
                        for subject, country, value, _ in facts()])


if __name__ == "__main__":
    main()
