model_input x;
a = log(x);
