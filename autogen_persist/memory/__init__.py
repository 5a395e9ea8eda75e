"""What was said and learnt, found again. Knows neither AutoGen nor SQL."""
