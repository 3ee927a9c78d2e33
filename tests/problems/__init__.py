"""Problems with known solutions."""
