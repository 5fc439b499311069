def write(): pass
