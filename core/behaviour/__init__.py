"""What a model should be able to do, asked sentence by sentence: suites, answers, failure rates."""
