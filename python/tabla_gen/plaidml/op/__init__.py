"""Operations of networks, as PlaidML's files import them: `from plaidml.op import *` or `import plaidml.op as op`."""

from tabla_gen.plaidml.op.detection import nms
from tabla_gen.plaidml.op.pointwise import *  # noqa: F403
from tabla_gen.plaidml.op.pointwise import abs, pow, round  # noqa: A004
from tabla_gen.plaidml.op.reductions import *  # noqa: F403
from tabla_gen.plaidml.op.reductions import all, any, max, min, sum  # noqa: A004
from tabla_gen.plaidml.op.shaping import *  # noqa: F403
from tabla_gen.plaidml.op.windows import *  # noqa: F403

__all__ = [name for name in dir() if not name.startswith("_")]
