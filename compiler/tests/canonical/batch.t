// train keep h, batch 4
// The mean over the batch is part of the rate; the sum over it starts at the weight and is rounded once.
mu = 0.3; m = 3;
model_input x[m];
model_output y;
model w[m];
gradient g[m] -> w;
iterator i[0:m];
h = sum[i](w[i] * x[i]);
h = sigmoid(h);
d = h - y;
g[i] = d * x[i];
