"""Passages that the tests of rewriting share, written for them."""

KNOWLEDGE = """\
A checkpoint is a point in the log at which all data files have been brought up to date. It is written by a background \
process, so the server does not have to wait for it. If the server crashes, recovery starts from the last checkpoint. \
The interval between two checkpoints is 5 minutes by default, but it can be changed with the `checkpoint_timeout` \
parameter.

The background writer is a separate process which writes dirty buffers to disk. You can use the `bgwriter_delay` \
parameter to control how often it runs. A vacuum must be run regularly because deleted rows are not removed at once. \
To see the current settings, use the `SHOW` command.

The planner uses statistics in order to choose an appropriate plan. For example, it needs the number of rows in a \
table. However, these statistics are not always accurate. If the statistics are missing, the planner falls back to \
fixed estimates. Note that an index is ignored when the table is small.
"""

MATHS = """\
Let $n$ be a positive integer. Suppose that $n^2$ is even. Then $n$ is even, because the square of an odd number is odd.

The sum of the first $n$ integers is given by

$$S = 1 + 2 + 3 = 3 \\cdot 2 = 6$$

where $S$ denotes the sum. Therefore the mean of these numbers is $2$, since the sum is divided by $3$.

The area of the square is

$$A = (a + b)^2 = a^2 + 2ab + b^2$$

and it is larger than $a^2 + b^2$. Hence the inequality is strict. In general, $A$ is used to compare both sides.
"""

FORMAL = """Theorem `double`. The sum of a number with itself is its double.
Given:
  distinct variables: `x A`
  `double.1`: `|- A e. RR`
Then:
  `|- ( A + A ) = ( 2 x. A )`
Proved from: `ax-plus`, `double.a`, `mp2an`.

Theorem `half`. Half of the double of a number is the number.
  `|- ( ( 2 x. A ) / 2 ) = A`
Proved from: `double`, `eqtr`."""
