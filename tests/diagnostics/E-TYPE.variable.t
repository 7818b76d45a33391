$T = f32
$h = 2.5
$s = "text"
model_input x[$T];
model_input y[$h];
a = $s + 1;
