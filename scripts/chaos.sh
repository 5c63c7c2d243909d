#!/bin/bash
# Runs karmad between clients and fake mirrors that misbehave, while it is reloaded, replaced, drained and starved;
# docs/chaos.md says what is checked.
#   scripts/chaos.sh [--seed N] [--programs DIR] [--rate N] MINUTES
# The seed decides every fault and event; it is printed. --programs: the folder with karmad, build/release by default.
set -euo pipefail
cd "$(dirname "$0")/.."
exec python3 -B tests/chaos/campaign.py "$@"
