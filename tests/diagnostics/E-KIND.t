model_input x[3], k;
iterator i[0:3];
a[i] = x[i] * i;
b = x[k];
model w[k];
half = 0.5;
model v[half];
i = 2 * 3;
c = sum[k](x[0]);
