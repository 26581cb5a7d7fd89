"""Peters, Ruder and Smith 2019, "To Tune or Not to Tune?": features against fine-tuning."""
