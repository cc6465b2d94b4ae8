from typing import Any

def train_test_split(*arrays: Any, test_size: float, random_state: object, stratify: object) -> list[Any]: ...

class GridSearchCV:
    best_params_: dict[str, Any]
    best_score_: float

    def __init__(self, estimator: object, param_grid: Any, *, cv: int = ..., n_jobs: int | None = ...) -> None: ...
    def fit(self, X: Any, y: Any) -> GridSearchCV: ...
