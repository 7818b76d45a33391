// A step of low-rank adaptation (Hu et al.: LoRA, 2021): the weights w of a dense layer stay, b * a is learned beside them.
mu = 0.05;
n = 64;
k = 8;
model_input x[n];
model_output y[n];
model w[n][n];
model a[k][n];
model b[n][k];
gradient gw[n][n] -> w;
iterator i[0:n];
iterator j[0:n];
iterator r[0:k];

u[r] = sum[j](a[r][j] * x[j]);
h[i] = sum[j](w[i][j] * x[j]) + sum[r](b[i][r] * u[r]);
gw[i][j] = 0;
minimize squared(h, y);
