$a = 4 $b = $a $c = [$b, -inf]
$d = {"work group"=2, unroll=$a} $e = inf
