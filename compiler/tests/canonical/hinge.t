// train
// A comparison is a word 0 or 1; `0 - y` becomes the sign of the update.
mu = 0.3; m = 3;
model_input x[m];
model_output y;
model w[m];
gradient g[m] -> w;
iterator i[0:m];
h = sum[i](w[i] * x[i]);
c = y * h;
g[i] = ((c < 1) * (0 - y)) * x[i];
