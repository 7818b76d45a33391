mu = 0.5;
model_input x[3];
model w[3];
gradient g[3] -> w;
iterator i[1:3];
g[i] = x[i] * w[0];
