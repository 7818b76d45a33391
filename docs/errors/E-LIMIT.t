model_input x[100000][1000];
