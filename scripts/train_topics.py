"""Train the model of topics that ships, after a change of its material: `.venv/bin/python scripts/train_topics.py`."""

from pathlib import Path

from headwater.understanding.model_file import encode
from headwater.understanding.training.train import material_examples, material_version, train

TARGET = Path(__file__).parents[1] / "src" / "headwater" / "understanding" / "material" / "topics.model"


def main() -> None:
    examples = material_examples()
    data = encode(train(examples, version=material_version()))
    TARGET.write_bytes(data)
    print(f"{TARGET.name}: {len(data):,} bytes from {len(examples)} examples")


if __name__ == "__main__":
    main()
