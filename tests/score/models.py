"""The models of this folder, and the scores that tests/score.rs and tests/deploy.rs expect of them.

    python tests/score/models.py        # with scikit-learn, skl2onnx, onnxruntime

Each is trained on the even rows of a table of `examples`. Figures are of onnxruntime on all rows, metrics of scikit-learn.
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, mean_absolute_error, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).parent


def rows(name):
    lines = [line.split(",") for line in (HERE / "../../examples" / f"{name}.csv").read_text().splitlines()[1:]]
    return np.array([line[:-1] for line in lines], np.float32), np.array([line[-1] for line in lines])


def write(name, data, estimator, number, options=None):
    x, y = rows(data)
    if number is str:
        y = np.array(["setosa", "versicolor", "virginica"])[y.astype(int)]
    else:
        y = y.astype(number)
    estimator.fit(x[::2], y[::2])
    last = estimator[-1]
    model = to_onnx(estimator, x[:1], options={id(last): options} if options else None, target_opset=17)
    (HERE / f"{name}.onnx").write_bytes(model.SerializeToString())
    found = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": x})
    if len(found) == 1:
        print(name, "r2", r2_score(y, found[0]), "mae", mean_absolute_error(y, found[0]))
        return
    label, chances = found
    if isinstance(chances, list):
        chances = np.array([[row[c] for c in last.classes_] for row in chances])
    print(name, last.classes_, "accuracy", accuracy_score(y, label))
    print(confusion_matrix(y, label).tolist())
    two = len(last.classes_) == 2
    print("f1", f1_score(y, label, average="macro"), end=" ")
    print("auc", roc_auc_score(y, chances[:, 1]) if two else roc_auc_score(y, chances, multi_class="ovr"))
    if two:
        print("f1 of the second", f1_score(y, label))


write("wine", "wine", make_pipeline(StandardScaler(), LogisticRegression()), np.int64, {"zipmap": False})
# Labels alone, as texts.
write("labels", "iris", make_pipeline(StandardScaler(), LogisticRegression()), str)
labels = onnx.load(HERE / "labels.onnx")
del labels.graph.output[1]
onnx.save(labels, HERE / "labels.onnx")
write("iris", "iris", make_pipeline(StandardScaler(), LogisticRegression()), str)
write("cancer", "breast_cancer", make_pipeline(StandardScaler(), LogisticRegression()), np.int64, {"zipmap": False})
write("trees", "wine", make_pipeline(GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)), np.int64, {"zipmap": False})
write("diabetes", "diabetes", make_pipeline(StandardScaler(), Ridge()), np.float64)
