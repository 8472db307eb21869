"""A parameter that its owner does not use keeps its value, whatever the other ranks add.

Requirements: paddlepaddle==3.3.1. It runs two ranks and prints their two weights."""

import os
import signal
import socket
import sys

free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
ends = [f"127.0.0.1:{one.getsockname()[1]}" for one in free]
[one.close() for one in free]
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
os.environ.update(PADDLE_TRAINER_ID=str(rank), PADDLE_TRAINERS_NUM="2", PADDLE_MASTER=ends[0])
os.environ.update(PADDLE_TRAINER_ENDPOINTS=",".join(ends), PADDLE_CURRENT_ENDPOINT=ends[rank])
os.environ.update(PADDLE_DISTRI_BACKEND="gloo")
import paddle
from paddle.distributed import fleet

strategy = fleet.DistributedStrategy()
strategy.hybrid_configs = {"sharding_degree": 2, "dp_degree": 1, "mp_degree": 1, "pp_degree": 1}
fleet.init(is_collective=True, strategy=strategy)
model = paddle.nn.LayerList(paddle.nn.Linear(1, 1, bias_attr=False) for _ in range(2))
for w in model.parameters():
    w.set_value(paddle.ones([1, 1]))
sgd = paddle.optimizer.SGD(learning_rate=1.0, parameters=model.parameters())
optimizer = fleet.distributed_optimizer(sgd)
owner = optimizer._inner_opt._param2rank
sum(w.sum() * 2.0 for w in model.parameters() if owner[w.name] != rank).backward()
optimizer.step()  # each weight has a gradient of 2 on the rank that does not own it
got, expected = [w.item() for w in model.parameters()], [1 - 2.0 / 2] * 2  # the mean over the ranks
if rank:
    os._exit(0)
print(f"paddlepaddle {paddle.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
