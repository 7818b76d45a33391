model_input weight[3];
a = wieght[0] + later;
later = 2 * a;
model_input y[n];
