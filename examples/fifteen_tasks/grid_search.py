"""The best width and learning rate, by cross validation."""

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from typednn.sklearn import Classifier

x, y = load_digits(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), Classifier(epochs=5, random_state=0))
grid = {"classifier__model": [(16,), (64,)], "classifier__learning_rate": [0.001, 0.01]}
search = GridSearchCV(pipeline, grid, cv=3)
search.fit(x, y)
print(search.best_params_, search.best_score_)
