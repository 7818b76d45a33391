model_input weight[3];
a = wieght[0];
