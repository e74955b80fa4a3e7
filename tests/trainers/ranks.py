"""One rank of several: steps of GRPO in which no rank holds a whole group, and what came of it as JSON.

Run by torch.distributed.run with a folder for the trainer and a file for the first rank to tell in.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from judge.integrations.trl import judge_reward
from tests.trainers import tiny

TASKS = ("Archive the newsletter", "Write a haiku")
TOGETHER = 4


class Followed(GRPOTrainer):
    """Keeps what the first rank gathers of each completion."""

    seen: list[dict[str, Any]]

    def _generate_and_score_completions(self, inputs):
        outputs = super()._generate_and_score_completions(inputs)
        columns = {
            "id": self._logs["extra"]["judge_trajectory_id"],
            "error": self._logs["extra"]["judge_error"],
            "reward": self._logs["rewards"]["judge_reward"],
            "advantage": self._logs["advantages"],
        }
        self.seen += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return outputs


def main(folder: str, told: str) -> None:
    tokens = tiny.tokenizer("")
    trainer = Followed(
        model=tiny.policy(tokens),
        reward_funcs=partial(judge_reward, on_abstain="none"),
        args=GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=TOGETHER // 2,
            num_generations=TOGETHER,
            gradient_accumulation_steps=1,
            max_completion_length=8,
            max_steps=len(TASKS),
            report_to="none",
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list([{"prompt": task} for task in TASKS]),
        processing_class=tokens,
    )
    trainer.seen = []
    trainer.train()
    if trainer.accelerator.is_main_process:
        Path(told).write_text(json.dumps(trainer.seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
