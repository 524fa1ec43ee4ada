"""How is the promise of this project proved?"""
