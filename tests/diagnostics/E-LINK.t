model_input x[2];
model w[2], v[3];
gradient g[2] -> x;
gradient h[2] -> w, k[2] -> w;
gradient l[2] -> v;
