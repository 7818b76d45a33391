$a = 2 { $b = $a $c = nan { $d = -inf } } $e = "x y" { $b = $a }
f($a)
