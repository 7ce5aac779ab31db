"""What happens when: thin workers around the rules of core, naming only ports."""
