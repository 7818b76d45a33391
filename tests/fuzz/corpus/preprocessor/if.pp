$n = 3
$if n > 2
x = $n
$end
