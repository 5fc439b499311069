"""Pictures: how agents look (styles), one pair of axes from data (panels), and worlds (world_picture)."""
