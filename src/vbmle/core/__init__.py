"""The one package that speaks to the compiled core: handles, views and statuses. Nothing else sees a pointer."""
