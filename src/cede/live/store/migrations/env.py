"""What Alembic runs to migrate, on the connection and in the transaction it is given."""

from alembic import context

# One transaction for all, the one that `migrate` began: SQLite can undo changes of tables, though Alembic assumes not.
context.configure(connection=context.config.attributes["connection"], transactional_ddl=True, render_as_batch=True)
context.run_migrations()
