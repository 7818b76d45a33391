// A line through points: the programs of version 0.2, for the files beside it.
mu = 0.125;
m = 3;
model_input x[m];
model_output y;
model w[m];
gradient g[m] -> w;
iterator i[0:m];

h = sum[i](w[i] * x[i]);
d = h - y;
g[i] = d * x[i];
