model_input x, _y;
a = x # 2;
b = 0.5.5 + 007;
c = x'' + é;
