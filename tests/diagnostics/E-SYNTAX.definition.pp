$a 5
$b = !calc()
$c = !calc(* 2 3)
$d = !calc(1 2 3)
$e = [1, 2
$f = 1 2
}
x !calc(1 2 +)
$g = !calc(1 2 +
