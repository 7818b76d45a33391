// `gelu`, `silu` and `exp` came later: a program may have variables of these names.
m = 3;
model_input x[m], exp[m];
iterator i[0:m];
gelu[i] = x[i] * exp[i];
silu = sum[i](gelu[i]);
