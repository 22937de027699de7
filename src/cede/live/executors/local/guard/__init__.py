"""What guards a running member: the zygote, and the supervisor that it forks for each member.

These modules run in processes of their own that must be small and start fast. They import nothing but the standard
library and each other, and little of that; the rest of Cede may import them.
"""
