// train
// Readers of the old weights come before the update, or it goes through a temporary.
mu = 0.5;
model_input x[3];
model w[3];
iterator i[0:3]; iterator j[0:3];
w[i] = w[i] - mu * sum[j](w[j] * x[j]) * x[i];
