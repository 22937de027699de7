"""What several doctrines are put together from: masks, orders, fit, victim sets and shares.

A part knows no doctrine and reads no doctrine's settings. What only one doctrine uses lives in that doctrine.
"""
