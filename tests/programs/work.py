"""Work for the Python interpreter: small objects of many sizes, made and dropped by several threads."""

import hashlib
import json
import threading

results: dict[int, str] = {}


def work(seed: int) -> None:
    table = {f"key {i * seed}": [i, str(i) * (i % 50), {"nested": i}] for i in range(6000)}
    for i in range(0, 6000, 2):
        del table[f"key {i * seed}"]
    text = json.dumps(table, sort_keys=True)
    assert json.loads(text) == table
    results[seed] = hashlib.sha256(text.encode()).hexdigest()


threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))
print(sum(pow(3, i, 10**60) for i in range(20000)))
